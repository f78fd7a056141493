import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

const folder = '/home/you/project'

export const samples: SamplesOf<typeof import('../../src/goals/check-texts.ts')> = {
  checkBusy: [[folder], [folder, 4711]],
  checkKilled: [['SIGKILL']],
  checkNotStarted: [['spawn bash EAGAIN']],
  missingFolder: [[folder]],
  missingPath: [['/opt/check', '/opt/check', folder]],
  missingProgram: [['nmp test', 'nmp', folder]],
  ownFile: [['check.sh']],
  unclearOutput: [['a word is made when it runs']],
  ownTree: [['src']],
  ownBuildFile: [['makefile']],
  ownScript: [['test']],
  transformsInput: [['base64']],
  printsScript: [['jq']],
  inlineScript: [['python3']],
  scriptFromInput: [['node']],
  rearranges: [['cut']],
}
