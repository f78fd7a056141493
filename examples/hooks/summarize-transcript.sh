#!/usr/bin/env bash
# Stop, SessionEnd: writes a summary line for each session, from the transcript.
input=$(cat)
transcript=$(jq -r '.transcript_path' <<<"$input")
[ -f "$transcript" ] || exit 0

prompts=$(jq -s '[.[] | select(.type == "user" and (.message.content | type) == "string")] | length' "$transcript")
tools=$(jq -s '[.[] | select(.type == "assistant") | .message.content[]? | select(.type == "tool_use")] | length' "$transcript")
last=$(jq -rs '[.[] | select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text] | last // ""' "$transcript")
echo "$(jq -r '.session_id' <<<"$input"): $prompts prompts, $tools tool calls, last: $last" >> "${SESSION_LOG:-$HOME/.claude/sessions.log}"
