import { anthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, tool, type LanguageModel, type ModelMessage, type ToolModelMessage } from 'ai'
import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'

const refund = tool({
  description: 'Refunds an order',
  inputSchema: z.object({ order: z.string(), usd: z.number() }),
  execute: ({ order, usd }) => `Refunded $${usd} for ${order}.`,
})

async function work(id: string, messages: ModelMessage[], model: LanguageModel) {
  const result = await generateText({
    model,
    tools: { refund },
    toolApproval: { refund: ({ usd }) => (usd > 50 ? 'user-approval' : 'approved') },
    messages,
    stopWhen: isStepCount(20),
  })
  const pending = result.content.filter((part) => part.type === 'tool-approval-request')
  const stored = { messages: [...messages, ...result.responseMessages], approvals: pending.map((one) => one.approvalId) }
  await writeFile(id, JSON.stringify(stored))
  return { text: result.text, pending }
}

/** Answers a customer. Where a person has to approve something, that is stored under the id. */
export const answer = (id: string, prompt: string, model: LanguageModel = anthropic('claude-haiku-4-5')) =>
  work(id, [{ role: 'user', content: prompt }], model)

/** A person decides, in another request or process: the run continues from there. */
export async function decide(
  id: string,
  approved: boolean,
  model: LanguageModel = anthropic('claude-haiku-4-5'),
) {
  const stored: { messages: ModelMessage[]; approvals: string[] } = JSON.parse(await readFile(id, 'utf8'))
  const content = stored.approvals.map((approvalId) => ({ type: 'tool-approval-response' as const, approvalId, approved }))
  const decision: ToolModelMessage = { role: 'tool', content }
  return work(id, [...stored.messages, decision], model)
}
