#!/usr/bin/env python3
"""PostToolUse, Edit|Write: shows the model what does not compile."""
import ast
import json
import sys

data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")
if not path.endswith(".py"):
    sys.exit(0)
try:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), path)
except SyntaxError as error:
    print(f"{path}:{error.lineno}: {error.msg}", file=sys.stderr)
    sys.exit(2)
