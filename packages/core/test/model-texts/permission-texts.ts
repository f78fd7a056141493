import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/permissions/permission-texts.ts')> = {
  deniedWithInstructions: [['use git mv']],
  noAnswerInTime: [[60]],
  cannotAsk: [['the dialog was closed']],
  invalidAnswer: [['updatedPermissions: a list is needed']],
  permissionsNotSaved: [['settings.json cannot be written']],
  rulesFailed: [['no rules']],
  wrongUpdates: [['a list is needed']],
  unknownMode: [
    ['fast', ['default', 'acceptEdits']],
    ['fast', []],
  ],
}
