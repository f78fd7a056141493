import type { HasTool } from '../../src/tools/available-tools.ts'

/** For a caller that has no other tool. */
export const noTool: HasTool = () => false
