import type { AnyTool, ContentBlock, MessageContent } from '@halting/core'
import { contextLayers, type ImageBlock } from '@halting/core/adapters'
import type { ReplyKind } from './replies.ts'
import type { Scenario } from './world.ts'

/** About 700 tokens, so that few turns fill a window of 8,000. */
const page = 'page '.repeat(560)

const largeReader: AnyTool = {
  name: 'Read',
  description: '',
  inputSchema: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] },
  readOnly: true,
  execute: () => page,
}

/** Possible answers of a model that is asked for a summary. */
const summaries: readonly ReplyKind[] = [
  'text',
  'empty',
  'refusal',
  'cut',
  'broken text',
  'error prompt_too_long',
  'error overloaded',
  'error authentication_failed',
  'hang',
]

const filling = { replies: ['read'], closings: summaries, contextWindow: 8_000, counts: true } as const

/** The layers of the context manager against a full window, as an engine has them, each alone and combined. */
export const contextScenarios: readonly Scenario[] = [
  {
    ...filling,
    name: 'layers: auto-compact is due',
    depth: 10,
    deviations: 1,
    options: { tools: [largeReader], context: contextLayers({ collapse: false, clearResults: false }) },
  },
  {
    ...filling,
    name: 'layers: auto-compact is due, with hooks around it',
    depth: 9,
    closings: ['text'],
    hooks: ['beforeCompact', 'afterCompact'],
    deviations: 1,
    options: { tools: [largeReader], context: contextLayers({ collapse: false, clearResults: false }) },
  },
  {
    ...filling,
    name: 'layers: auto-compact is due, on a small budget',
    depth: 10,
    closings: ['text', 'error overloaded'],
    deviations: 1,
    options: {
      tools: [largeReader],
      maxBudgetUsd: 0.19,
      context: contextLayers({ collapse: false, clearResults: false }),
    },
  },
  {
    ...filling,
    name: 'layers: finished work is summarized beside turns',
    depth: 10,
    deviations: 1,
    options: { tools: [largeReader], context: contextLayers({ clearResults: false }) },
  },
  {
    ...filling,
    name: 'layers: finished work is summarized beside turns, with aborts at every await',
    depth: 9,
    closings: ['text'],
    aborts: ['user'],
    deviations: 1,
    options: { tools: [largeReader], context: contextLayers({ clearResults: false }) },
  },
  {
    ...filling,
    name: 'layers: refusals, drained and then compacted',
    replies: ['read', 'error prompt_too_long'],
    closings: ['text', 'error prompt_too_long'],
    depth: 10,
    deviations: 2,
    options: { tools: [largeReader], context: contextLayers({ clearResults: false }) },
  },
  {
    ...filling,
    name: 'layers: no room for the reply, and a shorter one asked for',
    replies: ['read', 'no room', 'cut'],
    closings: ['text', 'no room'],
    depth: 6,
    deviations: 2,
    options: { tools: [largeReader], context: contextLayers({ collapse: false, clearResults: false }) },
  },
  {
    ...filling,
    name: 'layers: old results give way',
    depth: 9,
    aborts: ['user'],
    closings: ['text'],
    deviations: 1,
    options: { tools: [largeReader], context: contextLayers({ collapse: false }) },
  },
  {
    ...filling,
    name: 'layers: full again right after, three times in a row',
    depth: 9,
    closings: ['text', 'error prompt_too_long'],
    deviations: 1,
    options: {
      tools: [largeReader],
      context: contextLayers({ compactAt: 1_000, collapse: false, clearResults: false }),
    },
  },
  {
    ...filling,
    name: 'layers: a system prompt over the window',
    replies: ['text'],
    deviations: 0,
    options: { system: 'be brief '.repeat(4_000), context: contextLayers() },
  },
]

/** The header of a PNG file, which ends with its width and height. */
function pngOf(size: string): ImageBlock {
  const data = `iVBORw0KGgoAAAANSUhEUgAA${size}`
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
}

/** Of 1, 9,000 and 2,500 pixels a side. */
const [onePixel, huge, large] = [pngOf('AAEAAAAB'), pngOf('IygAACMo'), pngOf('CcQAAAnE')] as const
const question: ContentBlock = { type: 'text', text: 'what is it?' }

/** An image that services accept. */
export const imagePrompt: MessageContent = [onePixel, question]

/** Returns an image that fits, one that does not, and one that fits only while there are few. */
const camera: AnyTool = {
  name: 'Read',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => ({ content: [onePixel, huge, large] }),
}
const few = { images: 6, manyImages: 3 }

/** Images that a service would refuse: those of a person end the run, those of a tool are removed. */
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
