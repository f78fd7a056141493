// examples/programs/resume.ts
import { QueryEngine, tool, type Model, type SdkResult } from '@halting/core'
import { openJournal } from '@halting/journal'
import { anthropic } from '@halting/models'
import { z } from 'zod'

export type Charge = (order: string, idempotencyKey: string) => Promise<string>

/** Processes an order. Called again after a crash, it continues where the process died and charges nothing twice. */
export async function processOrder(order: string, charge: Charge, model: Model = anthropic('claude-sonnet-5-5')) {
  const chargeTool = tool({
    name: 'Charge',
    description: 'Charges the order',
    inputSchema: z.object({ order: z.string() }),
    execute: (input, { idempotencyKey }) => charge(input.order, idempotencyKey),
  })
  const session = await openJournal({ path: `${order}.jsonl`, sessionId: order, cwd: '.', version: '1' })
  const engine = new QueryEngine({ model, tools: [chargeTool], session, maxTurns: 10 })
  const messages = session.open === undefined ? engine.submit(`Process order ${order}.`) : engine.resume()
  let result: SdkResult | undefined
  for await (const message of messages) if (message.type === 'result') result = message
  await session.close()
  return result
}
