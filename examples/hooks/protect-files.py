#!/usr/bin/env python3
"""PreToolUse, Edit|Write: files that the agent leaves alone."""
import json
import sys

PROTECTED = (".env", "package-lock.json", ".git/", "secrets/")

data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")
hit = next((part for part in PROTECTED if part in path), None)
if hit:
    print(f"Blocked: {path} is protected ({hit}).", file=sys.stderr)
    sys.exit(2)
sys.exit(0)
