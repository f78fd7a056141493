// `.ci/run` sets HALTING_DEEP=1: random tests draw all their cases. Without it, for somebody who waits, a part.

export const isDeep = process.env['HALTING_DEEP'] === '1'
