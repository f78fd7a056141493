// `@halting/agent/after`: stages after a run. An entry of its own, so that a run without any loads none of it.
export { agentSummaryHook, agentSummaryIn, type AgentSummaryOptions } from './agent-summary.ts'
export { promptSuggestion, suggestionOf } from './prompt-suggestion.ts'
