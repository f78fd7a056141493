import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/shell/shell-texts.ts')> = {
  notParsed: [['unterminated quote']],
  notParsedReliably: [['a here-document has no end']],
  parserFailed: [['Error: unexpected token']],
  notDescribed: [['frobnicate']],
  unknownRun: [['sh -c']],
  runsCodeElsewhere: [['bash']],
  runsItsInput: [['psql']],
  runsUnanalyzedCode: [['python']],
  scriptMayReachMore: [['awk']],
  mayRunArguments: [['watch']],
  evaluatesUnknown: [['declare']],
  optionNotHarmless: [['--exec']],
  takesNumber: [['-n']],
  findActionUnknown: [['-fprint']],
  findValueUnknown: [['-name']],
  gitSettingNotHarmless: [['core.pager']],
  mayChange: [['git commit']],
  changesWithArguments: [['git branch']],
}
