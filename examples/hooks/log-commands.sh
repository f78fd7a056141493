#!/bin/sh
# PreToolUse, Bash: logs all commands with their descriptions.
jq -r '"\(.tool_input.command) - \(.tool_input.description // "No description")"' >> "${COMMAND_LOG:-$HOME/.claude/bash-command-log.txt}"
