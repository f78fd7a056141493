import { anthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, tool, type LanguageModel, type ModelMessage } from 'ai'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'

export type Charge = (order: string, idempotencyKey: string) => Promise<string>

/** Processes an order. Called again after a crash, it continues after the last whole step: a charge that was cut off is made again, under another key. */
export async function processOrder(
  order: string,
  charge: Charge,
  model: LanguageModel = anthropic('claude-sonnet-5-5'),
) {
  const path = `${order}.json`
  const prompt: ModelMessage[] = [{ role: 'user', content: `Process order ${order}.` }]
  const messages = await readFile(path, 'utf8').then((stored) => JSON.parse(stored) as ModelMessage[], () => prompt)
  const chargeTool = tool({
    description: 'Charges the order',
    inputSchema: z.object({ order: z.string() }),
    execute: (input, { toolCallId }) => charge(input.order, toolCallId),
  })
  return generateText({
    model,
    tools: { charge: chargeTool },
    messages: [...messages],
    stopWhen: isStepCount(10),
    async onStepEnd({ response }) {
      messages.push(...response.messages)
      await writeFile(`${path}.new`, JSON.stringify(messages))
      await rename(`${path}.new`, path)
    },
  })
}
