// `@halting/analysis/report`: sums over many sessions, as figures and as an HTML page.
export { ReportCollector } from './report-collector.ts'
export { type Period, dayOf } from './period.ts'
export { gatherReport, isBelow, type ReportScope } from './report-collector.ts'
export type {
  Breakdown,
  BudgetRow,
  Report,
  SessionSpent,
  SpentRow,
  EndingRow,
  GoalCounts,
  GoalRow,
  LimitRow,
  LimitTried,
  ModelRow,
  Outlier,
  RunName,
  ServiceWaitRow,
  ServiceWaitSums,
  ToolRow,
  Spent as ReportSpent,
} from './report-model.ts'
export { reportHtml } from './report-html.ts'
export {
  budgetText,
  endingName,
  serviceFacts,
  goalCells,
  goalHead,
  goalTables,
  goalTexts,
  verificationTexts,
  headline,
  limitText,
  modelCostText,
  nothingText,
  outlierText,
  programsText,
  waitTexts,
  spentText,
  triedText,
} from './report-words.ts'
export { limitsWorthReporting } from './tighter-limits.ts'
