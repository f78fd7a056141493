// The pager shows the whole conversation, and each text begins on a new line (spec R-TERM-60).
import type { TranscriptEntry } from '@halting/core'
import { expect, test } from 'vitest'
import { transcriptLines } from '../../src/terminal/pager/transcript.ts'
import { plainStyle } from './view-support.ts'

test('shows attachments of a message below its text', () => {
  const content = ['Look at it.', 'The user ran this command themselves:\n$ ls\na.ts'].map((text) => ({
    type: 'text' as const,
    text,
  }))
  const entry: TranscriptEntry = { kind: 'user', id: '1', origin: 'prompt', message: { role: 'user', content } }
  expect(transcriptLines([entry], { width: 80, style: plainStyle, cwd: '/' })).toEqual([
    '',
    '> Look at it.',
    '  The user ran this command themselves:',
    '  $ ls',
    '  a.ts',
  ])
})
