// Tests R-RES-12b: user text that an earlier version pinned over a compaction is pinned over the next one too.
import { expect, test } from 'vitest'
import { Transcript } from '../../src/index.ts'
import { pinnedMessagesText, userMessageTexts } from '../../src/context/user-messages.ts'
import { compactedHeading } from '../../src/context/context-texts.ts'

test.each([
  [
    'an earlier version',
    'This conversation was made shorter: 3 messages before the next ones were replaced by this summary.\n\n<summary>\nWork.\n</summary>',
    'Everything that the person has said so far, in order and word for word:\n\n<message>\nFix it.\n</message>\n<message>\nAnd test it.\n</message>',
  ],
  ['this version', compactedHeading(3, 'Work.'), pinnedMessagesText(['Fix it.', 'And test it.'], false)],
])('finds the words of the user that %s pinned', (_who, heading, words) => {
  const content = [heading, words].map((text) => ({ type: 'text', text }) as const)
  const transcript = Transcript.of([
    {
      kind: 'compact_boundary',
      id: 'boundary',
      trigger: 'hook',
      messages: [{ role: 'user', content }],
      preTokens: 100,
      postTokens: 10,
    },
  ])
  expect(userMessageTexts(transcript, [])).toEqual(['Fix it.', 'And test it.'])
})
