import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/permissions/permission-texts.ts')> = {
  deniedByRule: [['Read(./.env)']],
  doNotBypass: [['Denied by the rule Read(./.env).']],
  deniedAsCalled: [['Edit(./.env)', 'apply_patch']],
  notAllowed: [['no rule allows Write on a.ts. The rule Edit(/a.ts) would allow it.']],
  deniedInPlanMode: [['Write']],
  askedByTool: [['SendMoney']],
  askedByRule: [['Bash(git push *)']],
  denyRulesUncheckable: [['it is only known at run time which command runs']],
  filesUnknown: [['npm run build', 'it runs a program']],
  filesUnknownHere: [['it runs a program']],
  needsNamedRule: [['Write', '.git/hooks/pre-commit']],
  noRuleForPath: [['Write', 'a.ts']],
  noRuleForFetch: [['example.com']],
  noRuleForSearch: [[[]], [['example.com', 'example.org']]],
  noRuleForTool: [['mcp__notes__add']],
  triedInVain: [['no rule allows this command.', 'it writes /work/project/dist/index.js']],
  rulesThatAllow: [[['Bash(npm test)']], [['Bash(npm test)', 'Edit(/log)']]],
}
