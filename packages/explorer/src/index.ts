// `@halting/explorer`: explores every path of the loop. Part of this repository's tests, not published.
export { explorePaths, type Choices, type Path } from './choices.ts'
export { explore, type Exploration, type ExploreOptions } from './explore.ts'
export { allReplies, type ReplyKind } from './replies.ts'
export { scenarios } from './scenarios.ts'
export type { Scenario } from './world.ts'
