// Spec R-REW-6: a resume removes exactly the turn that it names.
import { Transcript, type TranscriptEntry } from '@halting/core'
import { expect, test } from 'vitest'
import { checkDropsTurn } from '../src/rewind.ts'

const said = (origin: 'prompt' | 'steer' | 'interruption' | 'hook', id: string): TranscriptEntry => ({
  kind: 'user',
  id,
  origin,
  message: { role: 'user', content: 'words' },
})
const reply = (id: string): TranscriptEntry => ({
  kind: 'assistant',
  id,
  message: {
    id: 'm',
    role: 'assistant',
    model: 'x',
    content: [{ type: 'text', text: 'x' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  },
})
const results = (id: string, isError: boolean): TranscriptEntry => ({
  kind: 'user',
  id,
  origin: 'tool_results',
  message: {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x', ...(isError && { is_error: true }) }],
  },
})
const ended: TranscriptEntry = {
  ...said('hook', 'e'),
  kind: 'user',
  origin: 'loop',
  message: { role: 'user', content: 'It ended.' },
  tasks: [{ type: 'ended', id: 't', status: 'completed', summary: 'done' }],
}

/** The remaining turn, followed by these entries. The named prompt has the id `p`. */
const drops = (...behind: readonly TranscriptEntry[]): string | undefined => {
  const all = [said('prompt', 'k'), reply('r'), ...behind]
  const prompt = all.findIndex(({ id }) => id === 'p')
  try {
    checkDropsTurn({ transcript: Transcript.of(all), entries: 2, prompt })
    return undefined
  } catch (error) {
    return String(error)
  }
}

test.each([
  ['nothing', []],
  ['the turn alone', [said('prompt', 'p'), reply('b'), results('d', false), reply('f')]],
  ['with marks of an interruption before it', [results('b', true), said('interruption', 'd'), said('prompt', 'p')]],
  ['with words of a hook', [said('prompt', 'p'), said('hook', 'b'), reply('d')]],
])('drops %s', (_what, behind) => {
  expect(drops(...behind)).toBeUndefined()
})

test.each([
  ['a steered message', [said('prompt', 'p'), said('steer', 'b')], 'another message of the person'],
  ['a later prompt', [said('prompt', 'p'), reply('b'), said('prompt', 'd')], 'another message of the person'],
  ['an earlier prompt', [said('prompt', 'b'), said('prompt', 'p')], 'another message of the person'],
  ['the end of a task', [said('prompt', 'p'), ended], 'the end of work beside the run'],
  ['a reply of the turn before', [reply('b'), said('prompt', 'p')], 'a reply of the turn before'],
  ['a result of the turn before', [results('b', false), said('prompt', 'p')], 'a result of the turn before'],
  ['another turn', [said('prompt', 'b'), reply('d')], 'no prompt with that id'],
])('rejects %s', (_what, behind, because) => {
  expect(drops(...behind)).toContain(because)
})
