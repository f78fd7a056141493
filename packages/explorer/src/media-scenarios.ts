import type { ContentBlock, MessageContent, AnyTool } from '@halting/core'
import type { ImageBlock } from '@halting/core/adapters'
import type { Scenario } from './world.ts'

/** The head of a PNG, which ends with its width and height. */
function pngOf(size: string): ImageBlock {
  const data = `iVBORw0KGgoAAAANSUhEUgAA${size}`
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
}

/** Of 1, 9,000 and 2,500 pixels a side. */
const [onePixel, huge, large] = [pngOf('AAEAAAAB'), pngOf('IygAACMo'), pngOf('CcQAAAnE')] as const
const question: ContentBlock = { type: 'text', text: 'what is it?' }

/** One that services take. */
export const imagePrompt: MessageContent = [onePixel, question]

/** Gives one that fits, one that does not, and one that does as long as there are few. */
const camera: AnyTool = {
  name: 'Read',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => ({ content: [onePixel, huge, large] }),
}
const few = { images: 6, manyImages: 3 }

/** Images that a service would refuse: what a person gives ends the run, what a tool gives makes room. */
export const mediaScenarios: readonly Scenario[] = [
  {
    name: 'images that do not fit, from a tool',
    replies: ['read', 'text', 'error image', 'write', 'cut'],
    prompt: imagePrompt,
    depth: 4,
    deviations: 2,
    options: { tools: [camera], mediaLimits: few, maxTurns: 4, wrapUp: true },
  },
  {
    name: 'images that do not fit, with aborts and messages',
    replies: ['read', 'text'],
    prompt: imagePrompt,
    aborts: ['user', 'interrupt'],
    inbox: true,
    depth: 2,
    deviations: 2,
    options: { tools: [camera], mediaLimits: few },
  },
  {
    name: 'an image that does not fit, from a person',
    replies: ['text', 'read'],
    prompt: [huge, question],
    hooks: ['beforeStep', 'onStop'],
    depth: 1,
    deviations: 2,
    options: { wrapUp: true },
  },
]
