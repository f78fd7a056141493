import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { more } from '../service/stream-reader.ts'
import type { Progress } from '../service/stream-reader.ts'
import type { BlockFeed } from './block-feed.ts'
import { withoutId } from './open-item.ts'
import type { OpenItem } from './open-item.ts'
import { responsesApi } from './origin.ts'

/** How a message represents one of the service's tools. */
interface HostedTool {
  readonly name: string
  input(item: JsonObject): JsonObject
  results(item: JsonObject): readonly JsonObject[]
}

/** The service's tools, by item type. */
const hostedTools: { readonly [type: string]: HostedTool } = {
  web_search_call: {
    name: 'web_search',
    input: ({ action }) => (isJsonObject(action) ? withoutSources(action) : {}),
    results: ({ action }) => (isJsonObject(action) ? listOf(action.sources).flatMap(sourceOf) : []),
  },
  file_search_call: {
    name: 'file_search',
    input: ({ queries }) => (queries === undefined ? {} : { queries }),
    results: ({ results }) => listOf(results).flatMap(foundFileOf),
  },
  code_interpreter_call: {
    name: 'code_interpreter',
    input: ({ code }) => (typeof code === 'string' ? { code } : {}),
    results: ({ outputs }) => listOf(outputs).flatMap((output) => (isJsonObject(output) ? textOf(output.logs) : [])),
  },
  image_generation_call: {
    name: 'image_generation',
    input: ({ revised_prompt: prompt }) => (typeof prompt === 'string' ? { prompt } : {}),
    results: () => [],
  },
  mcp_call: {
    name: 'mcp',
    input: ({ server_label, name, arguments: json }) => ({
      server_label: stringOf(server_label),
      name: stringOf(name),
      arguments: stringOf(json),
    }),
    results: ({ output, error }) => [...textOf(output), ...textOf(error)],
  },
  tool_search_call: {
    name: 'tool_search',
    input: ({ arguments: input }) => (isJsonObject(input) ? input : {}),
    results: () => [],
  },
}

/** Returns the server tool that made this item; undefined for other items, and for those that we must execute. */
export function hostedToolOf({ type, execution }: JsonObject): HostedTool | undefined {
  const name = stringOf(type)
  return execution !== 'client' && Object.hasOwn(hostedTools, name) ? hostedTools[name] : undefined
}

/** A call of one of the service's tools and its results: always both, so that the message can be sent back. */
export class HostedItem implements OpenItem {
  readonly type: string
  readonly #feed: BlockFeed
  readonly #tool: HostedTool
  readonly #id: string
  readonly #index: number
  #item: JsonObject
  #isDone = false

  constructor(feed: BlockFeed, tool: HostedTool, item: JsonObject) {
    this.type = stringOf(item.type)
    this.#feed = feed
    this.#tool = tool
    this.#item = item
    this.#id = feed.ownId(stringOf(item.id))
    const block = { type: 'server_tool_use', id: this.#id, name: tool.name, input: {} }
    this.#index = feed.begin(block, () => ({ api: responsesApi, item: withoutId(this.#item) }))
  }

  get isDone(): boolean {
    return this.#isDone
  }

  /**
   * Number of web searches that are billed: one, however many queries it has, as `max_tool_calls` counts it. Opening a
   * page and finding text in one are free.
   */
  get searches(): number {
    if (this.type !== 'web_search_call') return 0
    const action = isJsonObject(this.#item.action) ? this.#item.action : {}
    if (action.type === 'open_page' || action.type === 'find_in_page') return 0
    return 1
  }

  take(item: JsonObject): void {
    this.#item = item
  }

  done(item: JsonObject, wasCut = false): Progress {
    this.#item = item
    this.#isDone = true
    if (wasCut && item.status !== 'completed' && item.status !== 'failed') return more
    const input = this.#tool.input(item)
    if (Object.keys(input).length > 0) {
      this.#feed.delta(this.#index, { type: 'input_json_delta', partial_json: JSON.stringify(input) })
    }
    this.#feed.end(this.#index)
    const results = this.#tool.results(item)
    const type = `${this.#tool.name}_tool_result`
    // Other services receive none of the block, and this service receives only the item.
    const block = { type, tool_use_id: this.#id, content: results }
    this.#feed.end(this.#feed.begin(block, () => ({ api: responsesApi })))
    return more
  }

  settle(wasCut: boolean): void {
    if (!wasCut && !this.#isDone) this.done(this.#item)
    this.#isDone = true
  }
}

function withoutSources(action: JsonObject): JsonObject {
  const { sources: _, ...rest } = action
  return rest
}

/** Converts a page that a search found; some services omit its title. */
function sourceOf(source: Json): readonly JsonObject[] {
  if (!isJsonObject(source) || stringOf(source.url) === '') return []
  const url = stringOf(source.url)
  return [{ type: 'web_search_result', url, title: stringOf(source.title) || url }]
}

function foundFileOf(found: Json): readonly JsonObject[] {
  if (!isJsonObject(found)) return []
  const name = stringOf(found.filename) || stringOf(found.file_id)
  return [{ type: 'search_result', source: name, title: name, content: textOf(found.text) }]
}

function textOf(text: Json | undefined): readonly JsonObject[] {
  return stringOf(text) === '' ? [] : [{ type: 'text', text: stringOf(text) }]
}
