import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/waits/wait-texts.ts')> = {
  spanWords: [[45_000], [3_900_000]],
  taskEnd: [['bash_1']],
  taskOutput: [
    ['bash_1', 'ready on port \\d+'],
    ['bash_1', 'x'.repeat(100)],
  ],
  commandOutput: [['ready']],
  fileChange: [
    ['out.log', 'exists'],
    ['out.log', 'changes'],
    ['out.log', 'gone'],
  ],
  unusablePattern: [['(', 'unclosed group']],
  ripgrepFailed: [['spawn ENOENT']],
  wrongFields: [
    ['none'],
    [{ several: ['seconds', 'file_path'] }],
    ['pattern'],
    ['change'],
    ['every_seconds'],
    ['unconfined'],
  ],
  lowered: [[86_400_000]],
  waited: [[600_000]],
  endedEarly: [
    ['over', 600_000],
    ['limit', 20_000],
    ['arrived', 20_000],
    ['aborted', 20_000],
  ],
  commandPrinted: [['listening on 3000']],
  commandFailed: [['spawn bash EAGAIN']],
  lastRun: [
    [{ kind: 'exited', exitCode: 7 }, 1],
    [{ kind: 'late', seconds: 30 }, 4],
    [{ kind: 'not started', detail: 'spawn bash ENOENT' }, 1],
    [{ kind: 'signal', detail: 'SIGKILL' }, 2],
  ],
  runCount: [[1], [12]],
  fileState: [
    ['out.log', { size: 120, changed: '2026-01-31T12:00:00.000Z' }],
    ['out.log', 'missing'],
    ['out.log', 'no answer'],
    ['out.log', { problem: 'EACCES' }],
  ],
  agentRunning: [['agent_1']],
  agentEnded: [['agent_1']],
  taskWrote: [['bash_1', 'ready on port 3000']],
  taskState: [
    ['bash_1', 'Ended with exit code 4.', false],
    ['bash_1', 'Ended with exit code 0.', true],
  ],
}
