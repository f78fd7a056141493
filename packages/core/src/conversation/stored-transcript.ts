import {
  isBoolean,
  isExactly,
  isKnownOrAny,
  isListOf,
  isNumber,
  isObject,
  isOneOf,
  isText,
  isTextOr,
  optional,
  orNull,
} from '../values/stored-checks.ts'
import type { Check } from '../values/stored-checks.ts'

/** Token counts in the format of the API. */
export const isUsage: Check = isObject({
  input_tokens: isNumber,
  output_tokens: isNumber,
  cache_creation_input_tokens: isNumber,
  cache_read_input_tokens: isNumber,
})

/** Results contain blocks, too. */
const isResultContent: Check = (value, path) => isContent(value, path)

/** Unknown blocks are preserved unchanged. */
const isBlock: Check = isKnownOrAny('type', {
  text: isObject({ text: isText }),
  tool_use: isObject({ id: isText, name: isText }),
  tool_result: isObject({ tool_use_id: isText, content: isResultContent }),
  thinking: isObject({ thinking: isText, signature: isText }),
  redacted_thinking: isObject({ data: isText }),
  image: isObject({ source: isObject({ type: isText }) }),
})

export const isListOfBlocks: Check = isListOf(isBlock)

export const isContent: Check = isTextOr(isListOfBlocks, 'a text or a list of blocks')

const isModelMessage: Check = isOneOf('role', {
  user: isObject({ content: isContent }),
  assistant: isObject({ content: isListOfBlocks, by: optional(isText) }),
})

/** Messages of the model's view. */
export const isModelMessages: Check = isListOf(isModelMessage)

const isAttachment: Check = isOneOf('type', {
  max_turns_reached: isObject({ maxTurns: isNumber, turnCount: isNumber }),
  hook_stopped_continuation: isObject({ hook: isText, message: isText, callId: orNull(isText) }),
  informational: isObject({ message: isText }),
})

const isTaskNotes: Check = isListOf(
  isOneOf('type', {
    started: isObject({ id: isText, description: isText }),
    ended: isObject({ id: isText, status: isText, summary: isText, result: optional(isText) }),
    left: isObject({ id: orNull(isText), how: isText, description: isText, result: optional(isText) }),
  }),
)

const isGoalFiles = isObject({ of: isNumber })
const named = { id: isText }

/** The entries of a transcript, as written by `toJSON`. */
export const isTranscript: Check = isListOf(
  isOneOf('kind', {
    user: isObject({
      ...named,
      message: isObject({ role: isExactly('user'), content: isContent }),
      origin: isText,
      hook: optional(isText),
      messagesAfter: optional(isNumber),
      details: optional(isObject()),
      memos: optional(isObject()),
      tasks: optional(isTaskNotes),
      goalFiles: optional(isGoalFiles),
      keepsAnswer: optional(isBoolean),
    }),
    assistant: isObject({
      ...named,
      message: isObject({
        role: isExactly('assistant'),
        id: isText,
        model: isText,
        content: isListOfBlocks,
        stop_reason: orNull(isText),
        usage: isUsage,
        by: optional(isText),
      }),
      error: optional(isText),
    }),
    attachment: isObject({
      ...named,
      attachment: isAttachment,
      tasks: optional(isTaskNotes),
      goalFiles: optional(isGoalFiles),
    }),
    compact_boundary: isObject({
      ...named,
      messages: isModelMessages,
      trigger: isText,
      preTokens: isNumber,
      postTokens: isNumber,
      personsWords: optional(isText),
    }),
    results_cleared: isObject({ ...named, calls: isListOf(isText), freedTokens: isNumber }),
    collapse_staged: isObject({ ...named, from: isNumber, to: isNumber, summary: isText, freedTokens: isNumber }),
    media_removed: isObject({ ...named, note: isText, at: optional(isListOf(isListOf(isNumber))) }),
  }),
)
