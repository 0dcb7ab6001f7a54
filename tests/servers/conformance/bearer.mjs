// The suite sends no token: every request to MCP_ORIGIN gets the one of MCP_TOKEN. Node's own fetch
// and the undici package share one dispatcher; some scenarios write headers by node:http.
import http from 'node:http';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const { MCP_ORIGIN, MCP_TOKEN } = process.env;
const authorization = `Bearer ${MCP_TOKEN}`;

const { getGlobalDispatcher, setGlobalDispatcher } = createRequire(process.argv[1])('undici');
const authorize = (dispatch) => (options, handler) => {
  if (String(options.origin) !== MCP_ORIGIN) return dispatch(options, handler);
  const headers = Array.isArray(options.headers)
    ? [...options.headers, 'authorization', authorization]
    : { ...options.headers, authorization };
  return dispatch({ ...options, headers }, handler);
};
await fetch('data:,'); // node makes its own dispatcher at the first fetch
setGlobalDispatcher(getGlobalDispatcher().compose(authorize));

const request = http.request;
http.request = (...given) => {
  const made = request(...given);
  if (made.getHeader('host') === new URL(MCP_ORIGIN).host) {
    made.setHeader('authorization', authorization);
  }
  return made;
};
syncBuiltinESMExports();
