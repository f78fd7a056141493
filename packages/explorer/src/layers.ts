import type { ContextManager } from '@halting/core'
import { plainContext, type Compaction } from '@halting/core/adapters'

/** Makes room without asking a model. */
export const room: Compaction['run'] = async () => ({
  kind: 'compacted',
  messages: [{ role: 'user', content: 'a summary' }],
  preTokens: 90,
  postTokens: 9,
})

/** Asks a model, and once more if that failed, and makes room with its answer. */
const asking = (trigger: Compaction['trigger']): Compaction => ({
  trigger,
  async run({ ask }) {
    const question = {
      system: 'Summarize.',
      messages: [{ role: 'user', content: 'all' }],
      maxOutputTokens: 2_000,
    } as const
    const first = await ask(question)
    const reply = first.kind === 'failed' ? await ask(question) : first
    if (reply.kind !== 'answered') return { kind: 'gave_up', message: reply.kind }
    return { kind: 'compacted', messages: [{ role: 'user', content: 'a summary' }], preTokens: 90, postTokens: 9 }
  },
})

/** Layers that ask a model, each where it may. */
export const askingContext: ContextManager = {
  ...plainContext,
  autoCompact: true,
  beforeRequest: ({ state: { spent } }) =>
    spent.request === 2 && spent.compactions === 0 ? asking('auto') : undefined,
  drain: () => asking('collapse'),
  compact: () => asking('reactive'),
}
