import type { JsonObject } from '@halting/core'
import type { BlockOrigin } from '@halting/core/adapters'

/** The `origin.api` of blocks from the Responses API. */
export const responsesApi = 'responses'

/**
 * How an item of the Responses API, or a part of one, became a block, and what goes back with it. Ids of items are left
 * out: nothing is stored at the service (`store: false`), and gateways give every event another one.
 *
 * | item | block | `origin` beside `api` |
 * |---|---|---|
 * | `reasoning` | `thinking`: its summary, else its text; signature empty | `item`, with `encrypted_content` |
 * | `message`, `output_text` | `text`; annotations are its `citations` | `phase`, where there is one; no `origin` where it has neither |
 * | `message`, `refusal` | `text` | `refusal: true`, and `phase` |
 * | `function_call` | `tool_use` by its `call_id` | `arguments` where the input does not give the same text; `namespace` |
 * | `custom_tool_call` | `tool_use`; the text is the field of its input that `freeform` names, else `input` | `custom: true`; `namespace` |
 * | what the service does by itself (`web_search_call`, …) | `server_tool_use`, then `…_tool_result`, which may be empty | `item`, with the first |
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
