"""A decision becomes something to read: what to show and in which words. How it looks is a reporter's business."""
