import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/shell-texts.ts')> = {
  commandTimedOut: [[120_000]],
  bashNotStarted: [['spawn bash ENOENT'], [undefined]],
  shellKilled: [['SIGKILL'], [undefined]],
  exitCode: [
    [2, undefined],
    [1, 'no match'],
  ],
  timeoutLowered: [[600_000]],
  takenBack: [['.claude, .mcp.json']],
  notTakenBack: [['EIO: i/o error, lstat']],
  outputLeftOut: [[12_000]],
  headComesLast: [[12_000]],
  spoolCut: [[67_108_864]],
  backIn: [['/project']],
  outside: [['/tmp', '/project']],
  outsideAndGone: [['/tmp', 'The working directory /project/a no longer exists. It is /project now.']],
  directoryGone: [['/project/a', '/project']],
  allDirectoriesGone: [['/project']],
  notRunGone: [['/project/a']],
  directoryNow: [['/project']],
  targetMissing: [['/project/a']],
  beginWithCd: [['/home/you']],
}
