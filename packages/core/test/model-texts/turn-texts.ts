import type { SamplesOf } from '../support/model-texts.ts'

const command = 'The command "npm start"'

export const samples: SamplesOf<typeof import('../../src/run/turn-texts.ts')> = {
  remainingLimits: [
    [[{ of: 'turns', left: 10, limit: 20 }]],
    [
      [
        { of: 'turns', left: 1, limit: 2 },
        { of: 'toolCalls', left: 2, limit: 4 },
        { of: 'tokens', left: 50_000, limit: 100_000 },
        { of: 'usd', left: 0.5, limit: 1 },
        { of: 'ms', left: 30_000, limit: 60_000 },
      ],
    ],
  ],
  runEnding: [['Reached maximum number of turns (20)']],
  invalidOutput: [['it is not JSON (Unexpected end of JSON input)']],
  stopHookFeedback: [['3 of 40 tests fail']],
  verifyRequest: [
    [1, 'npm test'],
    [12, 'npm test'],
  ],
  mediaRemoved: [
    ['image', 'The image is 9000x100 px; at most 8000x8000 are accepted. Make it smaller.'],
    ['document', 'The PDF has 120 pages; at most 100 are accepted. Send a part of it.'],
  ],
  olderMediaRemoved: [['a request takes at most 100 images']],
  rejectedImageRemoved: [['Could not process image']],
  backgroundEnd: [
    ['bash_1', `${command} ended with exit code 0.`, undefined, 30_000],
    ['agent_1f2e3d4c', 'The agent reviewer (Review the diff) has ended.', 'The bug is in parser.ts.', 30_000],
    ['agent_1f2e3d4c', 'The agent reviewer (Review the diff) has ended.', 'The bug is in parser.ts.', 10],
  ],
  endOfPreviousRun: [
    [command, 'stopped'],
    [command, 'ended'],
  ],
  lostInBackground: [
    [command, 'lost', 'It is unknown whether and how it ended.'],
    [command, 'left running', 'It is unknown whether and how it ended.'],
  ],
}
