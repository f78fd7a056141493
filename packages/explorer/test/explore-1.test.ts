import { exploreShare } from './share.ts'

exploreShare(1, 4)
