import { Agent, run, RunState, tool, type Model } from '@openai/agents'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'

export type Charge = (order: string, idempotencyKey: string) => Promise<string>

/** Processes an order. Called again after a crash, it continues from the state that was stored last. */
export async function processOrder(order: string, charge: Charge, model: Model | string = 'gpt-5') {
  const path = `${order}.json`
  const chargeTool = tool({
    name: 'charge',
    description: 'Charges the order',
    parameters: z.object({ order: z.string() }),
    execute: (input, _context, details) => charge(input.order, details?.toolCall?.callId ?? ''),
  })
  const agent = new Agent({ name: 'Orders', model, tools: [chargeTool] })
  const stored = await readFile(path, 'utf8').catch(() => undefined)
  const start = stored === undefined ? `Process order ${order}.` : await RunState.fromString(agent, stored)
  const result = await run(agent, start, { stream: true, maxTurns: 10 })
  for await (const event of result) {
    if (event.type !== 'run_item_stream_event') continue
    await writeFile(`${path}.new`, result.state.toString())
    await rename(`${path}.new`, path)
  }
  return result.finalOutput
}
