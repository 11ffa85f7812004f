// The name of the broker's bucket that stores the holder of each labware.

export const custodyBucket = 'bd_custody'
