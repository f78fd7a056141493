// `@halting/agent/instructions`: what people write for agents, in files. An entry of its own, so that a run without loads none of it.
export { tellingFolders } from './folder-instructions.ts'
export { gitSummary } from './git-summary.ts'
export { type InstructionFile, type Instructions, readInstructions, type ReadingRules } from './instruction-files.ts'
export { blockOf, instructionText } from './instruction-text.ts'
export { briefingTrust, type BriefingTrust } from './offers.ts'
export { type BriefingPlaces } from './places.ts'
