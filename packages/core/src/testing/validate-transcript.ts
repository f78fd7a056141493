export { transcriptProblems } from '../conversation/transcript-problems.ts'
