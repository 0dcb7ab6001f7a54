"""What the conformance suite's scenarios expect of a server: names, texts, schemas."""

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQ"
    "IAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def schema(properties=None, required=(), **more):
    made = {"type": "object", "properties": properties or {}, **more}
    return {**made, "required": list(required)} if required else made


def form(message, properties, required=()):
    wanted = {"message": message, "requestedSchema": schema(properties, required)}
    return {"method": "elicitation/create", "params": {"mode": "form", **wanted}}


def question(value, tokens=100):
    said = {"role": "user", "content": {"type": "text", "text": value}}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [said], "maxTokens": tokens},
    }


STRING = {"type": "string"}
ROOTS = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", {"name": STRING}, ["name"])
OPTIONS = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
PLAIN = {"type": "string", "enum": ["option1", "option2", "option3"]}
ENUMS = {
    "untitledSingle": PLAIN,
    "titledSingle": {"type": "string", "oneOf": OPTIONS},
    "legacyEnum": {"type": "string", "enum": ["a", "b", "c"], "enumNames": ["A", "B", "C"]},
    "untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": PLAIN},
    "titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": OPTIONS}},
}
NEW_DIALECT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:conformance:person",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": STRING, "city": STRING},
        }
    },
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}, {}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"properties": {"email": STRING}},
    "additionalProperties": False,
}
EMBEDDED = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "Embedded."}
MIXED = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": "{}"}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
PLAIN_TOOLS = {
    "test_simple_text": text("This is a simple text response for testing."),
    "test_image_content": {"content": [IMAGE]},
    "test_audio_content": {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    "test_embedded_resource": {"content": [{"type": "resource", "resource": EMBEDDED}]},
    "test_multiple_content_types": {
        "content": [
            {"type": "text", "text": "Multiple content types test:"},
            IMAGE,
            {"type": "resource", "resource": MIXED},
        ]
    },
    "test_error_handling": text("This tool intentionally returns an error", isError=True),
    "json_schema_2020_12_tool": text("called"),
    "test_reconnection": text("Reconnection test completed successfully."),
}
OLD_TOOLS = (
    "test_tool_with_logging",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
)
# tool -> what it wants, round by round (2026-07-28)
WANTS = {
    "test_input_required_result_elicitation": [{"user_name": NAME}],
    "test_input_required_result_sampling": [
        {"capital_question": question("What is the capital of France?")}
    ],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [
        {"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}
    ],
    "test_input_required_result_tampered_state": [
        {"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}
    ],
    "test_input_required_result_multiple_inputs": [
        {"user_name": NAME, "greeting": question("Generate a greeting", 50), "client_roots": ROOTS}
    ],
    "test_input_required_result_multi_round": [
        {"step1": form("Step 1: What is your name?", {"name": STRING}, ["name"])},
        {"step2": form("Step 2: What is your favorite color?", {"color": STRING}, ["color"])},
    ],
    "test_input_required_result_capabilities": [
        {"user_name": NAME, "greeting": question("Generate a greeting", 50)}
    ],
}
STATELESS = ("test_input_required_result_elicitation", "test_input_required_result_capabilities")
NEW_TOOLS = (
    *WANTS,
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
)
NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling"}
PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "The static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}
