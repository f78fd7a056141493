#!/usr/bin/env bash
# Notification, Stop: sends a desktop notification, if there is a desktop.
input=$(cat)
event=$(jq -r '.hook_event_name' <<<"$input")
message=$(jq -r '.message // .last_assistant_message // "Done"' <<<"$input" | head -c 200)

if command -v osascript >/dev/null 2>&1; then
  osascript -e "display notification \"${message//\"/\\\"}\" with title \"$event\""
elif command -v notify-send >/dev/null 2>&1; then
  notify-send "$event" "$message"
else
  printf '%s: %s\n' "$event" "$message" >> "${NOTIFY_LOG:-/dev/null}"
fi
exit 0
