// `@halting/analysis/words`: figures and texts of sessions in words, for the terminal, exports and the page.
export { minuteText, sharedBudgetText, waitText } from './budget-words.ts'
export {
  calibratedLimitNames,
  figureText,
  intervalText,
  limitValue,
  lostText,
  noLimitText,
  shareText,
  solvedText,
  expectedLossText,
} from './calibration-words.ts'
export {
  calibratedRows,
  calibrationCommand,
  calibrationTexts,
  calibrationTitle,
  calibrationWarnings,
  groupName,
  hasLimit,
  type CalibratedRow,
} from './calibration-texts.ts'
export { counted, elapsed, many, money, limitLabels, moneyAtMost } from './figures.ts'
export { checkTail, checkText, goalFacts, goalName, goalVerdict, roundDetails, roundText } from './goal-words.ts'
export { gradeText } from './goal-words.ts'
export { inputSummary } from '@halting/core/adapters'
export { jsonText } from './json-text.ts'
export { replySources } from './reply-sources.ts'
export {
  limitPauseFacts,
  limitPauseText,
  localMinute,
  openPauseText,
  openWaitText,
  refusalText,
  retryAtText,
  serviceWaitFacts,
  serviceWaitText,
} from './service-words.ts'
export { verificationFacts, verificationVerdict } from './verification-words.ts'
export { visible, shortened } from './visible.ts'
export { copiesLeftOut, costText, periodText, spentText, standingNotes, verdictText } from './what-if-words.ts'
