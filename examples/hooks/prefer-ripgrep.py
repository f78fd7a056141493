#!/usr/bin/env python3
"""PreToolUse, Bash: says which commands there are better ones for."""
import json
import re
import sys

RULES = [
    (r"^grep\b(?!.*\|)", "Use 'rg' (ripgrep) instead of 'grep': it is faster and leaves out ignored files"),
    (r"^find\s+\S+\s+-name\b", "Use 'rg --files -g pattern' instead of 'find -name'"),
]

try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"Error: invalid JSON input: {error}", file=sys.stderr)
    sys.exit(1)

if data.get("tool_name") != "Bash":
    sys.exit(0)

issues = [message for pattern, message in RULES if re.search(pattern, data["tool_input"].get("command", ""))]
if issues:
    for message in issues:
        print(f"- {message}", file=sys.stderr)
    sys.exit(2)
