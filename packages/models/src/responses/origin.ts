import type { JsonObject } from '@halting/core'
import type { BlockOrigin } from '@halting/core/adapters'

/** The `origin.api` of blocks from the Responses API. */
export const responsesApi = 'responses'

/**
 * Describes which item of the Responses API, or which part of an item, became a block, and what is sent back with the
 * block. Ids of items are omitted: nothing is stored at the service (`store: false`), and gateways assign a different
 * id in every event.
 *
 * | item | block | `origin` in addition to `api` |
 * |---|---|---|
 * | `reasoning` | `thinking`: its summary, otherwise its text; the signature is empty | `item`, with `encrypted_content` |
 * | `message`, `output_text` | `text`; annotations are its `citations` | `phase`, if there is one; no `origin` if it has neither |
 * | `message`, `refusal` | `text` | `refusal: true`, and `phase` |
 * | `function_call` | `tool_use` by its `call_id` | `arguments` if the input does not reproduce the same text; `namespace` |
 * | `custom_tool_call` | `tool_use`; the text is in the input field that `freeform` names, otherwise in `input` | `custom: true`; `namespace` |
 * | tools that the service runs (`web_search_call`, …) | `server_tool_use`, then `…_tool_result`, which may be empty | `item`, with the first |
 * | any other | `responses_item` | `item` |
 */
export interface ResponsesOrigin extends BlockOrigin {
  readonly api: typeof responsesApi
  readonly item?: JsonObject
  readonly phase?: string
  readonly refusal?: true
  readonly arguments?: string
  readonly namespace?: string
  readonly custom?: true
}
