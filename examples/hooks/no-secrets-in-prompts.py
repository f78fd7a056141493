#!/usr/bin/env python3
"""UserPromptSubmit: takes a prompt back that holds a key."""
import json
import re
import sys

PATTERNS = [
    (r"\bAKIA[0-9A-Z]{16}\b", "an AWS key"),
    (r"\bsk-[A-Za-z0-9_-]{20,}", "an API key"),
    (r"(?i)\b(password|secret)\s*[:=]\s*\S{6,}", "a password"),
]

prompt = json.load(sys.stdin).get("prompt", "")
for pattern, what in PATTERNS:
    if re.search(pattern, prompt):
        reason = f"The prompt holds {what}. Take it out and send it again."
        print(json.dumps({"decision": "block", "reason": reason}))
        sys.exit(0)
