export { gitTurnedOff, environmentWithoutRule } from './git-environment.ts'
export { leadsElsewhere } from './leads-elsewhere.ts'
export { findRepository, isOwnRepository } from './repository.ts'
export { pathKind, readSmallFile } from './small-file.ts'
