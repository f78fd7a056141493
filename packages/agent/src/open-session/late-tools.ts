import type { AnyTool, QueryEngine } from '@halting/core'
import type { SessionServers } from './mcp.ts'

type Engine = Pick<QueryEngine, 'set'>

/** The tools of a session in addition to its options: those of servers, and those that appear after a reload. */
export class LateTools {
  readonly #servers: SessionServers | undefined
  #engine: Engine | undefined
  #ofServers: readonly string[] = []
  #own: readonly AnyTool[] = []

  constructor(servers: SessionServers | undefined) {
    this.#servers = servers
  }

  readonly tool = (name: string): AnyTool | undefined =>
    this.#own.find((tool) => tool.name === name) ?? this.#servers?.options.moreTools(name)

  attach(engine: Engine): void {
    this.#engine = engine
    this.#servers?.attach({
      set: ({ tools }) => {
        this.#ofServers = tools ?? []
        this.#show()
      },
    })
    if (this.#own.length > 0) this.#show()
  }

  /** Offers these tools in addition to those of servers, and updates all descriptions. */
  show(own: readonly AnyTool[]): void {
    this.#own = own
    this.#show()
  }

  #show(): void {
    this.#engine?.set({ tools: [...this.#ofServers, ...this.#own.map(({ name }) => name)] })
  }
}
