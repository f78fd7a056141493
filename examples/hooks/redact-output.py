#!/usr/bin/env python3
"""PostToolUse, Bash|Read, with "onError": "withhold": the model is not shown keys, and no result when this fails."""
import json
import re
import sys

data = json.load(sys.stdin)
response = data.get("tool_response")
text = response.get("stdout", "") if isinstance(response, dict) else str(response)
clean = re.sub(r"\b(sk-[A-Za-z0-9_-]{8})[A-Za-z0-9_-]+", r"\1...", text)
if clean != text:
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": clean}}))
