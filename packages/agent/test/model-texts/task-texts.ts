import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/task-texts.ts')> = {
  unknownTaskId: [
    ['bash_7', ''],
    ['bash_7', 'bash_1, bash_2'],
  ],
  earlierTask: [['bash_1']],
  startedInBackground: [
    ['bash_1', 'wait', 'main', everyTool],
    ['bash_1', 'stop', 'main', everyTool],
    ['bash_1', 'keep', 'main', everyTool],
    ['bash_1', 'wait', 'agent', everyTool],
    ['bash_1', undefined, 'main', everyTool],
    ['bash_1', 'stop', 'main', noTool],
  ],
  taskNotStarted: [['spawn bash ENOENT'], [undefined]],
  taskExited: [[1]],
  taskKilled: [['SIGKILL'], [undefined]],
  alreadyEnded: [['bash_1']],
  taskStopped: [['bash_1', 'npm start']],
  commandEnded: [
    ['"npm test"', { kind: 'stopped' }, everyTool],
    ['"npm test"', { kind: 'not started', detail: 'spawn bash ENOENT' }, everyTool],
    ['"npm test"', { kind: 'exited', exitCode: 1 }, everyTool],
    ['"npm test"', { kind: 'killed', detail: 'SIGKILL' }, noTool],
  ],
  leftCommand: [['bash_1', '"npm start"']],
  leftRunningCommand: [
    ['bash_1', '"npm start"', 4_711, '/tmp/halting-bash_1.log'],
    ['bash_1', '"npm start"', 4_711, undefined],
  ],
  leftChildren: [['"npm start"']],
  leftRunningChildren: [['"npm start"', 4_711]],
  leftDetached: [['"npm start"', 'process 4711']],
  processNumbers: [
    [1, '4711'],
    [2, '4711, 4712'],
  ],
  earlierRuns: [[4_711]],
  earlierDetached: [['4711, 4712']],
}
