DROP INDEX "svc"."sessions_by_name";--> statement-breakpoint
ALTER TABLE "svc"."api_keys" ADD COLUMN "client" text;--> statement-breakpoint
ALTER TABLE "svc"."api_keys" ADD COLUMN "users" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "svc"."api_keys" ADD COLUMN "sessions" text DEFAULT 'own' NOT NULL;--> statement-breakpoint
ALTER TABLE "svc"."sessions" ADD COLUMN "owner" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "svc"."sessions" ADD COLUMN "client" text;--> statement-breakpoint
ALTER TABLE "svc"."sessions" ADD COLUMN "user_id" text;--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_by_name" ON "svc"."sessions" USING btree ("agent","name","owner");