PYTHON ?= python3
BIN := .venv/bin
VENV := .venv/bin/python
STAMP := .venv/.installed
TEST_STAMP := .venv/.installed-test
BUNDLE_STAMP := .venv/.installed-bundle
export TOOLCRIB_MODELS ?= $(CURDIR)/.venv/models

.PHONY: run test test-all run-tests test-fast collect pytest check lint types imports measures format bench bundle deb wheels servers \
  pictures team-trial

run: $(STAMP)  ## open the window (or, without a display, the same path on the command line)
	$(BIN)/python packaging/run.py

test: export MARKS = not exhaustive
test: run-tests  ## lint, types, import rules, tests with real servers and five real hosts

test-all: export TOOLCRIB_ALL_HOSTS = 1
test-all: $(TEST_STAMP) $(BUNDLE_STAMP) run-tests  ## the same with every real host, and all combinations instead of pairs

run-tests:  # pip and the encoder's export each keep one core busy: the servers, hosts and types use the other
	$(MAKE) -j 3 --output-sync=target collect install-servers install-hosts lint imports measures types
	$(MAKE) -j 2 pytest types-win32 types-darwin  # tests wait for processes: mypy runs meanwhile

collect: $(TEST_STAMP)  # writes the tests' bytecode and the encoder once, not once a worker
	$(BIN)/python -m pytest --collect-only -q | tail -n 1

pytest:
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -m "$(MARKS)"

test-fast: $(TEST_STAMP)  ## a minute and a half: no real servers, hosts, processes or encoder
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -n 4 --dist loadfile -q \
	  -m "not (servers or hosts or slow or processes or encoder)"

check:  ## lint, types on three systems, import rules, measures of the words
	$(MAKE) -j 2 --output-sync=target lint types types-win32 types-darwin imports measures

lint: $(TEST_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/vulture

types: $(TEST_STAMP)
	$(BIN)/mypy

types-%: $(TEST_STAMP)
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/$* -p app -p ui -p store  # experiments run on Linux

imports: $(TEST_STAMP)
	$(BIN)/lint-imports

measures: $(TEST_STAMP)
	$(BIN)/python tests/contracts/measures.py

format: $(TEST_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

servers: install-servers install-hosts  ## the pinned real servers and hosts the tests start

install-%: | $(VENV)
	$(BIN)/python tests/$*/install.py

bench: $(TEST_STAMP)  ## every experiment, then tests/bench/RESULTS.md; DATA=folder ONLY="paper poison" MEMORY=mcp.json HIDING=folder
	bash packaging/bench.sh $(or $(DATA),../shared/data) $(ONLY)

team-trial: $(TEST_STAMP)  ## a team server with Postgres in a folder, a sample organisation, its URL and tokens
	$(BIN)/toolcrib-team trial

pictures: $(TEST_STAMP) servers  ## the README's pictures anew, over real servers in a throwaway home
	$(BIN)/python packaging/pictures.py

wheels: $(TEST_STAMP)  ## what is published, in dist/wheels: toolcrib, toolcrib-core, toolcrib-encoder
	$(BIN)/python packaging/wheels.py

bundle: $(BUNDLE_STAMP)  ## a PyInstaller folder without torch in dist/toolcrib
	$(BIN)/python packaging/build.py

deb: bundle  ## a Debian package of it in dist
	$(BIN)/python packaging/deb.py

$(VENV):
	$(PYTHON) -m venv .venv

$(STAMP): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/python packaging/install.py
	$(BIN)/python -m compileall -q app store ui resources  # where PYTHONDONTWRITEBYTECODE is set
	@touch $@

$(TEST_STAMP): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/python packaging/install.py test
	$(BIN)/python -m compileall -q app store ui resources
	@touch $(STAMP) $@

$(BUNDLE_STAMP): $(STAMP)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bundle]'
	@touch $@
