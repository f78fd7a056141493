// examples/programs/approval.ts
import { run, tool, type Model, type ModelMessage, type PendingApproval } from '@halting/core'
import { anthropic } from '@halting/models'
import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'

const refund = tool({
  name: 'Refund',
  description: 'Refunds an order',
  inputSchema: z.object({ order: z.string(), usd: z.number() }),
  needsApproval: ({ usd }) => usd > 50,
  execute: ({ order, usd }) => `Refunded $${usd} for ${order}.`,
})
const common = { tools: [refund], maxBudgetUsd: 0.2 }
const defaultModel = (): Model => anthropic('claude-haiku-4-5')

/** Answers a customer. If a person has to approve a call, the session is stored under the id. */
export async function answer(id: string, prompt: string, model = defaultModel()) {
  const outcome = await run({ ...common, model, prompt })
  const { text, messages, pending } = outcome
  await writeFile(id, JSON.stringify({ messages, pending }))
  return { text, pending }
}

/** A person decides, in another request or process, and the run continues from there. */
export async function decide(id: string, isApproved: boolean, model = defaultModel()) {
  const stored: { messages: ModelMessage[]; pending: PendingApproval[] } = JSON.parse(await readFile(id, 'utf8'))
  const decision = isApproved ? { behavior: 'allow' as const } : { behavior: 'deny' as const, message: 'Refused.' }
  const approvals = Object.fromEntries(stored.pending.map(({ callId }) => [callId, decision]))
  return run({ ...common, model, messages: stored.messages, approvals })
}
