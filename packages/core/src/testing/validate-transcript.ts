export { transcriptProblems } from '../transcript-problems.ts'
